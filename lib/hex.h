/* Hexadecimal digits. */
#ifndef LIB_HEX_H
#define LIB_HEX_H

/* 0 … 15, or -1: not a digit. */
static inline int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

#endif
