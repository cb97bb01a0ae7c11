#include "lib/span_list.h"

#include <string.h>

static void delete_at(struct span_list *list, size_t idx)
{
    list->count--;
    memmove(&list->v[idx], &list->v[idx + 1], (list->count - idx) * sizeof(list->v[0]));
}

static void insert_at(struct span_list *list, size_t idx, struct span span)
{
    if (list->count == SPAN_LIST_MAX) {
        list->dropped++;
        return;
    }
    memmove(&list->v[idx + 1], &list->v[idx], (list->count - idx) * sizeof(list->v[0]));
    list->v[idx] = span;
    list->count++;
}

void span_add(struct span_list *list, uint64_t start, uint64_t end)
{
    if (start >= end)
        return;
    size_t i = 0;
    while (i < list->count && list->v[i].end < start)
        i++;
    /* Everything from i on that starts at or before `end` touches the new span: swallow it. */
    while (i < list->count && list->v[i].start <= end) {
        if (list->v[i].start < start)
            start = list->v[i].start;
        if (list->v[i].end > end)
            end = list->v[i].end;
        delete_at(list, i);
    }
    insert_at(list, i, (struct span){start, end});
}

void span_remove(struct span_list *list, uint64_t start, uint64_t end)
{
    if (start >= end)
        return;
    for (size_t i = 0; i < list->count;) {
        const struct span s = list->v[i];
        if (s.end <= start || s.start >= end) {
            i++;
            continue;
        }
        delete_at(list, i);
        if (s.start < start)
            insert_at(list, i++, (struct span){s.start, start});
        if (s.end > end)
            insert_at(list, i++, (struct span){end, s.end});
    }
}

void span_align(struct span_list *list, uint64_t unit)
{
    for (size_t i = 0; i < list->count;) {
        struct span *s = &list->v[i];
        const uint64_t start = (s->start + unit - 1) & ~(unit - 1);
        const uint64_t end = s->end & ~(unit - 1);
        if (start < s->start || start >= end) { /* the first: rounding up went over 2^64 */
            delete_at(list, i);
            continue;
        }
        *s = (struct span){start, end};
        i++;
    }
}

static uint64_t size_below(const struct span *s, uint64_t limit)
{
    const uint64_t end = s->end < limit ? s->end : limit;
    return end > s->start ? end - s->start : 0;
}

uint64_t span_take_top(struct span_list *list, uint64_t bytes, uint64_t limit)
{
    const struct span *best = NULL;
    for (size_t i = 0; i < list->count; i++) {
        if (!best || size_below(&list->v[i], limit) > size_below(best, limit))
            best = &list->v[i];
    }
    if (!best || bytes == 0 || size_below(best, limit) < bytes)
        return 0;

    const uint64_t end = best->end < limit ? best->end : limit;
    const uint64_t start = end - bytes;
    if (start == 0)
        return 0;
    span_remove(list, start, end);
    return start;
}

bool span_contains(const struct span_list *list, uint64_t start, uint64_t end)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->v[i].start <= start && end <= list->v[i].end)
            return true;
    }
    return false;
}

uint64_t span_total(const struct span_list *list)
{
    uint64_t total = 0;
    for (size_t i = 0; i < list->count; i++)
        total += list->v[i].end - list->v[i].start;
    return total;
}
