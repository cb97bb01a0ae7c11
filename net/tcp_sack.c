#include "net/tcp_sack.h"

#include <string.h>

static bool before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

static uint32_t earlier(uint32_t a, uint32_t b)
{
    return before(a, b) ? a : b;
}

static uint32_t later(uint32_t a, uint32_t b)
{
    return before(a, b) ? b : a;
}

static void remove_ranges(struct tcp_scoreboard *sb, unsigned from, unsigned n)
{
    memmove(&sb->range[from], &sb->range[from + n], (sb->count - from - n) * sizeof(sb->range[0]));
    sb->count = (uint16_t)(sb->count - n);
}

static bool insert_range(struct tcp_scoreboard *sb, unsigned at, struct seq_range r)
{
    if (sb->count == TCP_SACK_RANGES)
        return false;
    memmove(&sb->range[at + 1], &sb->range[at], (sb->count - at) * sizeof(sb->range[0]));
    sb->range[at] = r;
    sb->count++;
    return true;
}

bool tcp_sack_add(struct tcp_scoreboard *sb, uint32_t una, uint32_t nxt, struct seq_range b)
{
    unsigned first = 0, n = 0;

    if (!before(b.left, b.right) || !before(una, b.left) || before(nxt, b.right))
        return false;
    while (first < sb->count && before(sb->range[first].right, b.left))
        first++;
    while (first + n < sb->count && !before(b.right, sb->range[first + n].left))
        n++; /* it touches these */
    if (n == 0)
        return insert_range(sb, first, b);

    struct seq_range *r = &sb->range[first];
    const struct seq_range joined = {earlier(r->left, b.left), later(r[n - 1].right, b.right)};
    const bool news = n > 1 || joined.left != r->left || joined.right != r->right;

    *r = joined;
    remove_ranges(sb, first + 1, n - 1);
    return news;
}

void tcp_sack_advance(struct tcp_scoreboard *sb, uint32_t una)
{
    unsigned n = 0;

    while (n < sb->count && !before(una, sb->range[n].right))
        n++;
    if (n > 0)
        remove_ranges(sb, 0, n);
    if (sb->count > 0 && before(sb->range[0].left, una))
        sb->range[0].left = una;
}

uint32_t tcp_sack_lost_edge(const struct tcp_scoreboard *sb, uint32_t una, uint32_t mss)
{
    uint32_t above = 0;

    for (unsigned i = sb->count; i-- > 0;) {
        above += sb->range[i].right - sb->range[i].left;
        if (sb->count - i >= TCP_SACK_DUPTHRESH || above > (TCP_SACK_DUPTHRESH - 1) * mss)
            return sb->range[i].left;
    }
    return una;
}

uint32_t tcp_sack_missing(const struct tcp_scoreboard *sb, uint32_t left, uint32_t right)
{
    if (!before(left, right))
        return 0;
    uint32_t missing = right - left;

    for (unsigned i = 0; i < sb->count; i++) {
        const uint32_t from = later(sb->range[i].left, left);
        const uint32_t to = earlier(sb->range[i].right, right);

        if (before(from, to))
            missing -= to - from;
    }
    return missing;
}

bool tcp_sack_next_gap(const struct tcp_scoreboard *sb, uint32_t from, uint32_t below,
                       struct seq_range *gap)
{
    for (unsigned i = 0; i < sb->count; i++) {
        if (before(from, sb->range[i].left)) {
            below = earlier(below, sb->range[i].left);
            break;
        }
        from = later(from, sb->range[i].right);
    }
    *gap = (struct seq_range){from, below};
    return before(from, below);
}
