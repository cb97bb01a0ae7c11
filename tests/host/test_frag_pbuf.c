/* net/frag_pbuf.c: frags worn as pbufs go back exactly once, and keep their bytes. */
#include "tests/host/support/net_fixture.h"

#include <string.h>

#include "net/frag_pbuf.h"

/* A list of frags of `piece` bytes holding 0, 1, 2 … up to len. */
static struct frag *make_list(size_t len, size_t piece)
{
    struct frag *head = NULL;
    struct frag **link = &head;

    for (size_t at = 0; at < len; at += piece) {
        const size_t part = size_min(piece, len - at);
        struct frag *f = frag_take(part, FRAG_CONTROL);

        assert_non_null(f);
        for (size_t i = 0; i < part; i++)
            f->data[i] = (uint8_t)(at + i);
        f->len = (uint32_t)part;
        *link = f;
        link = &f->next;
    }
    return head;
}

static void check_bytes(struct pbuf *p, size_t len)
{
    static uint8_t bytes[UINT16_MAX];

    assert_int_equal(p->tot_len, len);
    assert_int_equal(pbuf_copy_partial(p, bytes, (u16_t)len, 0), len);
    for (size_t i = 0; i < len; i++)
        assert_int_equal(bytes[i], (uint8_t)i);
}

static void a_worn_list_is_one_chain_with_the_same_bytes(void **state)
{
    static const size_t lens[] = {1, 60, 1500, 1501, 9000, 65535};

    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(lens); i++) {
        struct pbuf *p = frag_pbuf_wear(make_list(lens[i], 1500), (uint32_t)lens[i]);

        check_bytes(p, lens[i]);
        assert_int_equal(pbuf_clen(p), (lens[i] + 1499) / 1500);
        pbuf_free(p);
    }
}

static void the_frag_goes_back_with_the_last_reference(void **state)
{
    const uint64_t before = net_fixture_outstanding();
    struct pbuf *p = frag_pbuf_wear(make_list(3000, 1500), 3000);

    (void)state;
    pbuf_ref(p);
    pbuf_free(p);
    assert_int_equal(net_fixture_outstanding(), before + 2);
    pbuf_free(p);
    assert_int_equal(net_fixture_outstanding(), before);
}

static void headers_may_grow_back_to_the_start_of_the_frag_and_no_further(void **state)
{
    struct frag *f = make_list(200, 200);

    (void)state;
    f->data += 26;
    f->len -= 26;
    struct pbuf *p = frag_pbuf_wear(f, f->len);
    assert_int_equal(pbuf_add_header(p, 26), 0);
    assert_ptr_equal(p->payload, frag_start(f));
    check_bytes(p, 200);
    assert_int_not_equal(pbuf_add_header(p, FRAG_HEAD_BYTES), 0);
    pbuf_free(p);
}

static void scattered_headers_are_gathered_into_the_first_piece(void **state)
{
    static const size_t pieces[] = {1, 7, 52, 127, 128, 400};

    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(pieces); i++) {
        struct frag *f = frag_pbuf_gather(make_list(600, pieces[i]));

        assert_non_null(f);
        assert_true(f->len >= FRAG_PBUF_HEADERS);
        struct pbuf *p = frag_pbuf_wear(f, 600);
        check_bytes(p, 600);
        pbuf_free(p);
    }
}

static void a_short_frame_in_one_piece_is_left_alone(void **state)
{
    struct frag *f = make_list(42, 42);

    (void)state;
    assert_ptr_equal(frag_pbuf_gather(f), f);
    frag_give(f);
}

static void a_short_frame_in_crumbs_is_gathered_whole(void **state)
{
    struct frag *f = frag_pbuf_gather(make_list(42, 5));

    (void)state;
    assert_int_equal(f->len, 42);
    assert_null(f->next);
    frag_give(f);
}

static void gathering_without_memory_gives_everything_back(void **state)
{
    const uint64_t before = net_fixture_outstanding();
    struct frag *list = make_list(600, 64);

    (void)state;
    net_fixture_exhaust(FRAG_CONTROL);
    assert_null(frag_pbuf_gather(list));
    net_fixture_release();
    assert_int_equal(net_fixture_outstanding(), before);
}

static void only_our_own_pbufs_have_a_frag(void **state)
{
    struct frag *f = make_list(10, 10);
    struct pbuf *ours = frag_pbuf_wear(f, 10);
    struct pbuf *other = pbuf_alloc(PBUF_RAW, 10, PBUF_RAM);

    (void)state;
    assert_ptr_equal(frag_pbuf_frag(ours), f);
    assert_null(frag_pbuf_frag(other));
    pbuf_free(ours);
    pbuf_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_TEST(a_worn_list_is_one_chain_with_the_same_bytes),
        NET_TEST(the_frag_goes_back_with_the_last_reference),
        NET_TEST(headers_may_grow_back_to_the_start_of_the_frag_and_no_further),
        NET_TEST(scattered_headers_are_gathered_into_the_first_piece),
        NET_TEST(a_short_frame_in_one_piece_is_left_alone),
        NET_TEST(a_short_frame_in_crumbs_is_gathered_whole),
        NET_TEST(gathering_without_memory_gives_everything_back),
        NET_TEST(only_our_own_pbufs_have_a_frag),
    };

    return cmocka_run_group_tests(tests, net_fixture_start, NULL);
}
