/* The console as descriptors 0, 1 and 2: output goes out as it is, input is always at its end. */
#ifndef LIB_CONSOLE_FILE_H
#define LIB_CONSOLE_FILE_H

/* Open them; once, before main(). */
void console_file_init(void);

#endif
