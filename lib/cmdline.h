/*
 * The command line as text: cut it into words, and find what a mistyped key was meant to be.
 */
#ifndef LIB_CMDLINE_H
#define LIB_CMDLINE_H

#include "lib/types.h"

/*
 * Cut the next word off *at, in place, and advance *at behind it. Words are separated by space, tab,
 * carriage return and newline. "…" and '…' group, anywhere in a word; the quotes vanish, nothing is an
 * escape, and an unclosed quote reaches to the end.
 *
 * Returns the word, terminated, or NULL when there is none left. A word may be empty ("").
 */
char *cmdline_word(char **at);

/*
 * How many letters must be inserted, dropped, changed, or swapped with their neighbour to turn a into b,
 * upper and lower case being the same (optimal string alignment; the restricted Damerau-Levenshtein distance).
 * A word of more than CMDLINE_KEY_MAX bytes is as far from everything as can be: SIZE_MAX.
 */
enum { CMDLINE_KEY_MAX = 40 };
size_t cmdline_distance(const char *a, const char *b);

/*
 * The distance, if `key` is near enough to what was typed for "did you mean": one letter in three may differ, but
 * always one. Else SIZE_MAX.
 */
size_t cmdline_near(const char *typed, const char *key);

#endif
