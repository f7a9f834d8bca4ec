/* Where Python and its package `langevin` are: for the worker processes of environments, and for
 * the commands that are written in Python. */
#ifndef LGV_BASE_PYTHON_H
#define LGV_BASE_PYTHON_H

#include <stddef.h>

/* wanted: a path or a name in PATH; empty: $LANGEVIN_PYTHON, else the active virtual environment,
 * else .venv in the current directory, else python3. */
void lgv__find_python(const char *wanted, char *path, size_t size);
/* The folder of the package, relative to the library or program that contains this code: as
 * installed, or in the source tree. Empty if it is in none of these places; it must then be
 * installed for the Python in use. */
void lgv__find_python_package(char *path, size_t size);

#endif
