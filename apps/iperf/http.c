#include "apps/iperf/http.h"

#include <stdlib.h>
#include <string.h>

#include "apps/iperf/http_page.h"
#include "apps/iperf/http_request.h"
#include "apps/iperf/service.h"
#include "lib/counters.h"
#include "net/tcp_serve.h"
#include "net/tcp_window.h"

struct http {
    struct tcp_pcb *pcb;
    char *head; /* the request so far; HTTP_HEAD_MAX bytes, NULL once it is understood */
    size_t head_len;
    struct http_text answer; /* sent by reference, so kept until the last byte is acknowledged */
    size_t written, acked;
    bool answering, client_done;
    uint16_t quiet_s;
};

static uint64_t requests, errors;
static struct counter counters[] = {
    {.name = "http_requests_total", .help = "Requests to the status server.", .value = &requests},
    {.name = "http_errors_total", .help = "Of them, answered with 4xx or 5xx.", .value = &errors},
};

static void http_free(struct http *h)
{
    free(h->head);
    http_text_free(&h->answer);
    free(h);
}

static err_t http_abort(struct http *h)
{
    struct tcp_pcb *pcb = h->pcb;

    http_free(h);
    return net_tcp_abort(pcb);
}

/* Write what fits; close when the client has it all. */
static err_t http_advance(struct http *h)
{
    struct tcp_pcb *pcb = h->pcb;

    if (!h->answering)
        return ERR_OK;
    while (h->written < h->answer.len) {
        const size_t room = size_min(tcp_sndbuf(pcb), UINT16_MAX);
        const size_t len = size_min(h->answer.len - h->written, room);

        if (len == 0 || tcp_write(pcb, h->answer.bytes + h->written, (u16_t)len, 0) != ERR_OK)
            break;
        h->written += len;
    }
    if (h->acked == h->answer.len) {
        http_free(h);
        return net_tcp_close(pcb);
    }
    tcp_output(pcb);
    return ERR_OK;
}

static err_t http_respond(struct http *h, int status, const struct http_request *request)
{
    requests++;
    errors += status != 200;
    free(h->head);
    h->head = NULL;
    h->answering = true;
    h->quiet_s = 0;
    http_answer(&h->answer, status, request->target, request->head);
    return h->answer.failed ? http_abort(h) : http_advance(h);
}

/* Returns 0 while more is needed, or the status to answer. */
static int http_collect(struct http *h, const struct pbuf *p, struct http_request *request)
{
    const size_t room = HTTP_HEAD_MAX - h->head_len;
    const size_t len = size_min(p->tot_len, room);

    pbuf_copy_partial(p, h->head + h->head_len, (u16_t)len, 0);
    h->head_len += len;
    return http_parse(h->head, h->head_len, request);
}

static err_t http_recv(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t err)
{
    struct http *h = arg;
    struct http_request request = {0};
    (void)err;

    if (!p) {
        h->client_done = true;
        /* A client may close its half right behind its request, but not before it is complete. */
        return h->answering ? ERR_OK : http_respond(h, 400, &request);
    }
    const int status = h->answering ? 0 : http_collect(h, p, &request);
    const size_t len = p->tot_len;
    pbuf_free(p);
    tcp_window_opened(pcb, len);
    return status ? http_respond(h, status, &request) : ERR_OK;
}

static err_t http_sent(void *arg, struct tcp_pcb *pcb, u16_t len)
{
    struct http *h = arg;
    (void)pcb;

    h->acked += len;
    h->quiet_s = 0;
    return http_advance(h);
}

static err_t http_poll(void *arg, struct tcp_pcb *pcb)
{
    struct http *h = arg;
    struct http_request none = {0};
    (void)pcb;

    h->quiet_s++;
    if (!h->answering && h->quiet_s > HTTP_HEAD_WAIT_S)
        return http_respond(h, 408, &none);
    if (h->answering && h->quiet_s > SERVICE_STALL_S)
        return http_abort(h);
    return http_advance(h);
}

static void http_err(void *arg, err_t err)
{
    (void)err;
    if (arg)
        http_free(arg);
}

static struct http *http_new(struct tcp_pcb *pcb)
{
    struct http *h = calloc(1, sizeof(*h));

    if (!h)
        return NULL;
    h->pcb = pcb;
    h->head = malloc(HTTP_HEAD_MAX);
    if (h->head)
        return h;
    free(h);
    return NULL;
}

static err_t http_accept(void *arg, struct tcp_pcb *pcb, err_t err)
{
    struct http *h = service_admit(pcb, err) ? http_new(pcb) : NULL;
    (void)arg;

    if (!h)
        return service_refuse(pcb);
    tcp_arg(pcb, h);
    tcp_recv(pcb, http_recv);
    tcp_sent(pcb, http_sent);
    tcp_err(pcb, http_err);
    tcp_poll(pcb, http_poll, TCP_POLL_EACH_SECOND);
    return ERR_OK;
}

int http_start(void)
{
    for (size_t i = 0; i < ARRAY_COUNT(counters); i++)
        counters_add(&counters[i]);
    return service_listen_tcp(HTTP_PORT, http_accept);
}
