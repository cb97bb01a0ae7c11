#include "lib/epoll.h"

#include <errno.h>
#include <fcntl.h>

#include "lib/fd.h"
#include "lib/page_frag.h"

/* Linux's names for the same bits. */
static_assert((int)EPOLLIN == POLLIN && (int)EPOLLOUT == POLLOUT && (int)EPOLLHUP == POLLHUP,
              "poll's masks are epoll's");

static const uint32_t told_always = EPOLLERR | EPOLLHUP;
static const uint32_t ways = EPOLLET | EPOLLONESHOT | EPOLLEXCLUSIVE | EPOLLWAKEUP;

struct epoll_item {
    struct wait_node node; /* in file->waiters */
    struct epoll_set *set;
    struct file *file; /* not referenced: epoll_forget() comes first */
    int fd;
    uint32_t events; /* asked for, with told_always; none but `ways`: one-shot, and told */
    epoll_data_t data;
    struct epoll_item *next_of_file, *next, *prev; /* file->watchers; set->items */
    struct epoll_item *ready_next, *ready_prev;
    bool ready; /* on the set's ready list */
};

struct epoll_set {
    struct file file;
    struct waitq sleepers; /* threads in epoll_await(): an event wakes one of them */
    struct epoll_item *items, *ready_head, *ready_tail;
};

static const struct file_ops set_ops;

static struct epoll_set *set_of(struct file *f)
{
    return CONTAINER_OF(f, struct epoll_set, file);
}

/* ---- the ready list ---- */

static void ready_add(struct epoll_item *item)
{
    struct epoll_set *set = item->set;

    item->ready = true;
    item->ready_next = NULL;
    item->ready_prev = set->ready_tail;
    if (set->ready_tail)
        set->ready_tail->ready_next = item;
    else
        set->ready_head = item;
    set->ready_tail = item;
}

static void ready_remove(struct epoll_item *item)
{
    struct epoll_set *set = item->set;

    if (!item->ready)
        return;
    item->ready = false;
    if (item->ready_prev)
        item->ready_prev->ready_next = item->ready_next;
    else
        set->ready_head = item->ready_next;
    if (item->ready_next)
        item->ready_next->ready_prev = item->ready_prev;
    else
        set->ready_tail = item->ready_prev;
}

static void announce(struct epoll_set *set)
{
    (void)waitq_wake_one(&set->sleepers);
    file_changed(&set->file); /* poll() on the set, and sets around it */
}

static void item_woken(struct epoll_item *item)
{
    if (item->ready || !(item->events & ~ways))
        return;
    ready_add(item);
    announce(item->set);
}

static void on_change(struct wait_node *node)
{
    item_woken(CONTAINER_OF(node, struct epoll_item, node));
}

static uint32_t mask_of(const struct epoll_item *item)
{
    if (!(item->events & ~ways))
        return 0;
    return item->file->ops->poll(item->file) & item->events;
}

/* ---- entries ---- */

static struct epoll_item *item_find(const struct epoll_set *set, const struct file *f, int fd)
{
    for (struct epoll_item *item = f->watchers; item; item = item->next_of_file) {
        if (item->set == set && item->fd == fd)
            return item;
    }
    return NULL;
}

static void item_link(struct epoll_item *item)
{
    struct epoll_set *set = item->set;

    item->next_of_file = item->file->watchers;
    item->file->watchers = item;
    item->next = set->items;
    if (set->items)
        set->items->prev = item;
    set->items = item;
    waitq_add(&item->file->waiters, &item->node);
}

static void item_free(struct epoll_item *item)
{
    struct epoll_item **at = &item->file->watchers;

    while (*at != item)
        at = &(*at)->next_of_file;
    *at = item->next_of_file;
    if (item->prev)
        item->prev->next = item->next;
    else
        item->set->items = item->next;
    if (item->next)
        item->next->prev = item->prev;
    ready_remove(item);
    waitq_remove(&item->node);
    frag_give(frag_of_start(item));
}

void epoll_forget(struct file *f)
{
    while (f->watchers)
        item_free(f->watchers);
}

/* Already so when it was added or changed? */
static void item_look(struct epoll_item *item)
{
    if (mask_of(item))
        item_woken(item);
}

/* Would `target` be reached from `f`, or too deep a nest be made? */
static bool reaches(const struct file *f, const struct epoll_set *target, unsigned depth)
{
    if (f->ops != &set_ops)
        return false;
    const struct epoll_set *set = CONTAINER_OF(f, struct epoll_set, file);

    if (set == target || depth == EPOLL_NESTING_MAX)
        return true;
    for (const struct epoll_item *item = set->items; item; item = item->next) {
        if (reaches(item->file, target, depth + 1))
            return true;
    }
    return false;
}

static int item_add(struct epoll_set *set, struct file *f, int fd, const struct epoll_event *event)
{
    if (item_find(set, f, fd))
        return -EEXIST;
    if (!f->ops->poll)
        return -EPERM;
    if (reaches(f, set, 1))
        return -ELOOP;
    struct frag *frag = frag_take(sizeof(struct epoll_item), FRAG_SMALL);

    if (!frag)
        return -ENOMEM;
    struct epoll_item *item = (struct epoll_item *)(void *)frag_start(frag);

    *item = (struct epoll_item){.node = {.wake = on_change},
                                .set = set,
                                .file = f,
                                .fd = fd,
                                .events = event->events | told_always,
                                .data = event->data};
    item_link(item);
    item_look(item);
    return 0;
}

static int item_change(struct epoll_item *item, const struct epoll_event *event)
{
    if ((event->events | item->events) & EPOLLEXCLUSIVE)
        return -EINVAL;
    item->events = event->events | told_always;
    item->data = event->data;
    ready_remove(item);
    item_look(item);
    return 0;
}

static int change(struct epoll_set *set, int op, struct file *f, int fd,
                  const struct epoll_event *event)
{
    struct epoll_item *item = item_find(set, f, fd);

    if (op != EPOLL_CTL_DEL && !event)
        return -EFAULT;
    switch (op) {
    case EPOLL_CTL_ADD:
        return item_add(set, f, fd, event);
    case EPOLL_CTL_MOD:
        return item ? item_change(item, event) : -ENOENT;
    case EPOLL_CTL_DEL:
        if (item)
            item_free(item);
        return item ? 0 : -ENOENT;
    default:
        return -EINVAL;
    }
}

/* ---- waiting ---- */

static bool tell(struct epoll_item *item, struct epoll_event *event)
{
    const uint32_t mask = mask_of(item);

    ready_remove(item);
    if (!mask)
        return false; /* it was ready once: somebody has read meanwhile */
    *event = (struct epoll_event){mask, item->data};
    if (item->events & EPOLLONESHOT)
        item->events &= ways;
    else if (!(item->events & EPOLLET))
        ready_add(item); /* told again until it isn't so any more */
    return true;
}

static int tell_all(struct epoll_set *set, struct epoll_event *events, int max_events)
{
    const struct epoll_item *last = set->ready_tail;
    int told = 0;

    while (set->ready_head && told < max_events) {
        struct epoll_item *item = set->ready_head;
        const bool is_last = item == last;

        told += tell(item, &events[told]);
        if (is_last)
            break;
    }
    if (told > 0 && set->ready_head)
        (void)waitq_wake_one(&set->sleepers); /* there may be more than one thread can take */
    return told;
}

static int await(struct epoll_set *set, struct epoll_event *events, int max_events,
                 uint64_t deadline_us)
{
    int told = tell_all(set, events, max_events);

    if (told == 0 && deadline_us == 0) {
        thread_yield(); /* a loop that never waits must not silence the network */
        return tell_all(set, events, max_events);
    }
    while (told == 0) {
        const int err = waitq_wait(&set->sleepers, deadline_us);

        told = tell_all(set, events, max_events);
        if (told == 0 && err)
            return err == -ETIMEDOUT ? 0 : err;
    }
    return told;
}

/* ---- a set as a file ---- */

static unsigned set_poll(struct file *f)
{
    struct epoll_set *set = set_of(f);

    while (set->ready_head) {
        if (mask_of(set->ready_head))
            return POLLIN | POLLRDNORM;
        ready_remove(set->ready_head);
    }
    return 0;
}

static int set_close(struct file *f)
{
    struct epoll_set *set = set_of(f);

    while (set->items)
        item_free(set->items);
    frag_give(frag_of_start(set));
    return 0;
}

static const struct file_ops set_ops = {.poll = set_poll, .close = set_close};

/* ---- the calls ---- */

int epoll_open(int flags)
{
    if (flags & ~EPOLL_CLOEXEC)
        return -EINVAL;
    struct frag *frag = frag_take(sizeof(struct epoll_set), FRAG_SMALL);

    if (!frag)
        return -ENOMEM;
    struct epoll_set *set = (struct epoll_set *)(void *)frag_start(frag);

    *set = (struct epoll_set){.items = NULL};
    file_init(&set->file, &set_ops, O_RDWR);
    const int fd = fd_install(&set->file, 0, flags & EPOLL_CLOEXEC);

    if (fd < 0)
        (void)file_put(&set->file);
    return fd;
}

int epoll_change(int set_fd, int op, int fd, const struct epoll_event *event)
{
    struct file *s = fd_get(set_fd), *f = fd_get(fd);
    int err = -EBADF;

    if (s && f)
        err = s->ops != &set_ops || s == f ? -EINVAL : change(set_of(s), op, f, fd, event);
    if (s)
        (void)file_put(s);
    if (f)
        (void)file_put(f);
    return err;
}

int epoll_await(int set_fd, struct epoll_event *events, int max_events, uint64_t deadline_us)
{
    struct file *f = fd_get(set_fd);
    int told = -EINVAL;

    if (!f)
        return -EBADF;
    if (f->ops == &set_ops && max_events > 0)
        told = await(set_of(f), events, max_events, deadline_us);
    (void)file_put(f);
    return told;
}
