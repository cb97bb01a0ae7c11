/*
 * What a C program expects of its library, run in an image: each check prints one line, `ok NAME` or
 * `FAIL NAME: …`. Returns the number of failures. Floats are checked again and again over two seconds, while
 * timer interrupts come and go.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "port/clock.h"
#include "port/cpu.h"

static int failures;

void check(const char *name, bool good, const char *detail)
{
    if (good) {
        printf("ok %s\n", name);
        return;
    }
    failures++;
    printf("FAIL %s: %s\n", name, detail);
}

__attribute__((format(printf, 3, 4))) static void prints(const char *name, const char *wanted,
                                                         const char *fmt, ...)
{
    char text[200];
    va_list args;
    va_start(args, fmt);
    const int len = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    check(name, len == (int)strlen(wanted) && strcmp(text, wanted) == 0, text);
}

static void check_printf(void)
{
    prints("printf %f", "3.141593 -0.500000", "%f %f", 3.14159265358979, -0.5);
    prints("printf %.17g", "0.10000000000000001", "%.17g", 0.1);
    prints("printf %g", "1e+100 0.0001 123456", "%g %g %g", 1e100, 0.0001, 123456.0);
    prints("printf %e", "6.022141e+23", "%e", 6.02214076e23);
    prints("printf %a", "0x1.8p+1", "%a", 3.0);
    prints("printf %Lf", "1.250000", "%Lf", 1.25L);
    prints("printf inf nan", "inf nan", "%f %f", (double)INFINITY, fabs((double)NAN));
    prints("printf %lld", "-9223372036854775808", "%lld", (long long)INT64_MIN);
    prints("printf %llu", "18446744073709551615", "%llu", (unsigned long long)UINT64_MAX);
    prints("printf %zu", "18446744073709551615", "%zu", SIZE_MAX);
    prints("printf %jd %td", "-7 9", "%jd %td", (intmax_t)-7, (ptrdiff_t)9);
    prints("printf %hhd", "-1", "%hhd", 255);
    prints("printf fields", "[   42|00042|2a  |+1.50]", "[%5d|%05d|%-4x|%+.2f]", 42, 42, 42, 1.5);
    prints("printf %.*s", "[abc]", "[%.*s]", 3, "abcdef");
}

static void check_scanf(void)
{
    int i = 0;
    double d = 0;
    char word[16] = "";
    long long big = 0;
    const int n = sscanf("17 2.5e3 hello 123456789012345", "%d %lf %15s %lld", &i, &d, word, &big);
    check("sscanf",
          n == 4 && i == 17 && d == 2500.0 && strcmp(word, "hello") == 0 && big == 123456789012345,
          word);
    char *end;
    check("strtod", strtod("-1.5e-3xyz", &end) == -0.0015 && *end == 'x', end);
    check("strtod huge", isinf(strtod("1e999", NULL)) && errno == ERANGE, "no ERANGE");
    check("strtoull", strtoull("0xffffffffffffffff", NULL, 0) == UINT64_MAX, "wrong");
}

static int by_value(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static void check_sort(void)
{
    enum { COUNT = 1000 };
    static int v[COUNT];
    for (int i = 0; i < COUNT; i++)
        v[i] = (i * 7919) % COUNT;
    qsort(v, COUNT, sizeof(v[0]), by_value);
    bool sorted = true;
    for (int i = 0; i < COUNT; i++)
        sorted = sorted && v[i] == i;
    check("qsort", sorted, "not in order");
    const int key = 500;
    check("bsearch", bsearch(&key, v, COUNT, sizeof(v[0]), by_value) == &v[500], "not found");
}

static void check_malloc(void)
{
    enum { BIG = 8 << 20 };
    uint8_t *p = malloc(BIG);
    check("malloc 8 MiB", p != NULL, "NULL");
    if (!p)
        return;
    memset(p, 0xa5, BIG);
    p = realloc(p, BIG + BIG / 2);
    check("realloc keeps the content", p && p[0] == 0xa5 && p[BIG - 1] == 0xa5, "lost");
    free(p);
    void *volatile none = malloc((size_t)1 << 46);
    check("malloc of too much is NULL and ENOMEM", none == NULL && errno == ENOMEM, "no error");
    uint8_t *zeros = calloc(1000, 1000);
    bool clear = zeros != NULL;
    for (size_t i = 0; clear && i < 1000000; i += 997)
        clear = zeros[i] == 0;
    check("calloc is clear", clear, "not zero");
    free(zeros);
    bool all = true;
    for (int round = 0; round < 20; round++) {
        void *held[100];
        for (int i = 0; i < 100; i++) {
            held[i] = malloc((size_t)(i * 37 + round * 1001 + 1));
            all = all && held[i] != NULL;
        }
        for (int i = 0; i < 100; i++)
            free(held[(i * 53) % 100]);
    }
    check("malloc and free, mixed", all, "NULL");
}

static jmp_buf there;

static void jump_back(int value)
{
    longjmp(there, value);
}

static void check_setjmp(void)
{
    volatile int passes = 0;
    const int got = setjmp(there);
    passes++;
    if (got == 0)
        jump_back(7);
    check("setjmp", got == 7 && passes == 2, "wrong value");
}

static void check_time(void)
{
    const time_t now = time(NULL);
    check("time is after 2020 and before 2100", now > 1577836800 && now < 4102444800, "wrong");
    struct timeval tv;
    check("gettimeofday agrees", gettimeofday(&tv, NULL) == 0 && tv.tv_sec - now <= 1, "no");
    struct tm tm;
    const time_t known = 951782400; /* 2000-02-29 */
    char text[64];
    gmtime_r(&known, &tm);
    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %a", &tm);
    check("strftime", strcmp(text, "2000-02-29 00:00:00 Tue") == 0, text);
    check("mktime inverts gmtime", mktime(&tm) == known, "no");
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    clock_spin_us(3000);
    clock_gettime(CLOCK_MONOTONIC, &b);
    const long long ns = (b.tv_sec - a.tv_sec) * 1000000000ll + (b.tv_nsec - a.tv_nsec);
    check("3 ms take 3 ms", ns >= 3000000 && ns < 500000000, "no");
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", gmtime(&now));
    printf("now %lld %s\n", (long long)now, text);
}

static void check_math(void)
{
    prints("libm", "1.414214 2.718282 0.841471 8.000000 1.000000", "%f %f %f %f %f", sqrt(2.0),
           exp(1.0), sin(1.0), pow(2.0, 3.0), fmod(7.0, 2.0));
    volatile long double third = 3.0L;
    third = 1.0L / third;
    check("long double keeps 64 bits", third * 3.0L == 1.0L && third != (double)third, "lost");
    prints("printf of a long double", "0.333333333333333", "%.15Lf", third);
    const double big = pow(10.0, 15.0) + 0.3;
    check("double keeps 53 bits", big - pow(10.0, 15.0) != 0.0, "lost");
    check("integer division of 128 bits",
          (uint64_t)(((unsigned __int128)1 << 100) / 3 >> 40) ==
              (uint64_t)(((unsigned __int128)0x5555555555ull << 20 | 0x55555)),
          "wrong");
}

static void check_ctype_string(void)
{
    check("ctype", isalpha('x') && !isalpha('1') && toupper('q') == 'Q', "wrong");
    char buf[32] = "one,two,,three";
    char *save = NULL;
    check("strtok_r",
          strcmp(strtok_r(buf, ",", &save), "one") == 0 &&
              strcmp(strtok_r(NULL, ",", &save), "two") == 0 &&
              strcmp(strtok_r(NULL, ",", &save), "three") == 0,
          "wrong");
    check("memmove overlapping", memcmp(memmove(buf + 1, buf, 3), "one", 3) == 0, buf);
    check("strerror", strlen(strerror(ENOENT)) > 3, "empty");
}

static void check_process(void)
{
    check("isatty(1)", isatty(1) == 1 && isatty(2) == 1, "not a terminal");
    check("ttyname(1)", ttyname(1) && strcmp(ttyname(1), "/dev/console") == 0, "no name");
    errno = 0;
    check("isatty(0): nobody types", isatty(0) == 0 && errno == ENOTTY, "a terminal");
    errno = 0;
    check("ttyname(0)", ttyname(0) == NULL && errno == ENOTTY, "a name");
    check("write to a closed descriptor is EBADF", write(99, "x", 1) == -1 && errno == EBADF, "no");
    check("fopen of a missing file is ENOENT", fopen("/no/such", "r") == NULL && errno == ENOENT,
          "no");
    check("getenv of nothing", getenv("NO_SUCH_NAME") == NULL, "set");
    check("setenv", setenv("A", "b", 1) == 0 && strcmp(getenv("A"), "b") == 0, "no");
    unsigned char r[2][32] = {{0}, {0}};
    check("getentropy differs",
          getentropy(r[0], 32) == 0 && getentropy(r[1], 32) == 0 && memcmp(r[0], r[1], 32) != 0,
          "the same");
}

static bool no_work(void *arg)
{
    (void)arg;
    return false;
}

/* Sums that change with any lost bit of a vector register, between halts that end in timer interrupts. */
static void check_floats_under_interrupts(void)
{
    const uint64_t end_us = clock_now_us() + 2000000;
    unsigned rounds = 0;
    bool good = true;
    long double first = 0;
    char text[64] = "";
    while (good && clock_now_us() < end_us) {
        cpu_idle(clock_now_us() + 500, no_work, NULL);
        const uint64_t busy_until_us = clock_now_us() + 300;
        while (clock_now_us() < busy_until_us) {
            double sum = 0;
            long double lsum = 0;
            for (int i = 1; i <= 100; i++) {
                sum += 1.0 / i;
                lsum += 1.0L / i;
            }
            snprintf(text, sizeof(text), "%.15f %.12Lf", sum, lsum);
            good = good && strcmp(text, "5.187377517639621 5.187377517640") == 0 &&
                   (first == 0 || lsum == first);
            first = lsum;
        }
        rounds++;
    }
    check("floats while interrupts run", good, text);
    check("the timer ends a halt", rounds > 100, "too few rounds");
}

static void said_at_exit(void)
{
    printf("atexit ran\n");
}

int main(void)
{
    check_printf();
    check_scanf();
    check_sort();
    check_malloc();
    check_setjmp();
    check_time();
    check_math();
    check_ctype_string();
    check_process();
    check_more();
    check_floats_under_interrupts();
    atexit(said_at_exit);
    printf("%d failures; no newline after this", failures);
    return failures;
}
