/* What newlib's regcomp() (Makefile, NEWLIB_MORE) asks: no collation tables, so ranges like [a-z] go by byte. */
extern int __collate_load_error;
int __collate_load_error = 1;
