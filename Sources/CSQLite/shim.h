#pragma once
#include <sqlite3.h>

// SQLITE_TRANSIENT and SQLITE_STATIC are casts, which Swift does not import (sqlite.org/c3ref/c_static.html).
static inline int csqlite_bind_text_transient(sqlite3_stmt *statement, int index, const char *text, int count) {
  return sqlite3_bind_text(statement, index, text, count, SQLITE_TRANSIENT);
}

// The bytes must stay alive and unchanged until the statement is reset or bound anew.
static inline int csqlite_bind_text_static(sqlite3_stmt *statement, int index, const char *text, int count) {
  return sqlite3_bind_text(statement, index, text, count, SQLITE_STATIC);
}

// sqlite3_db_config is variadic, which Swift cannot call.
static inline int csqlite_db_config(sqlite3 *database, int option, int value) {
  return sqlite3_db_config(database, option, value, (int *)0);
}
