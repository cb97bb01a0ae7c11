#include "apps/iperf/http_page.h"

#include <string.h>

#include "apps/iperf/http_reason.h"

static const char services[] = "iperf2 on 5001 (TCP and UDP) · iperf3 on 5201 · echo 7 · discard 9 "
                               "· chargen 19 · datagram counter 9/UDP";

static const char *put_body(struct http_text *body, int *status, const char *target)
{
    if (*status == 200 && strcmp(target, "/") == 0)
        return status_page(body, services);
    if (*status == 200 && strcmp(target, "/metrics") == 0)
        return status_metrics(body);
    if (*status == 200)
        *status = 404;
    http_text_format(body, "%d %s\n", *status, http_reason(*status));
    return "text/plain; charset=utf-8";
}

void http_answer(struct http_text *t, int status, const char *target, bool head_only)
{
    struct http_text body = {0};
    const char *type = put_body(&body, &status, target);

    http_text_format(
        t, "HTTP/1.1 %d %s\r\nServer: Ringlet\r\nContent-Type: %s\r\nContent-Length: %zu\r\n",
        status, http_reason(status), type, body.len);
    if (status == 405)
        http_text_format(t, "Allow: GET, HEAD\r\n");
    http_text_format(t, "Cache-Control: no-store\r\nConnection: close\r\n\r\n");
    if (!head_only)
        http_text_put(t, body.bytes, body.len);
    t->failed |= body.failed;
    http_text_free(&body);
}
