/* The version an image tells at boot; the same as the newest one in CHANGELOG.md. */
#ifndef LIB_VERSION_H
#define LIB_VERSION_H

#define RINGLET_VERSION "0.1"

#endif
