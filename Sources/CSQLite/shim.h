#pragma once
// Debian's library and Apple's have the session extension; its declarations ask for both (sqlite.org/sessionintro.html).
#define SQLITE_ENABLE_SESSION 1
#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#include <sqlite3.h>

// SQLITE_TRANSIENT and SQLITE_STATIC are casts, which Swift does not import (sqlite.org/c3ref/c_static.html).
static inline int csqlite_bind_text_transient(sqlite3_stmt *statement, int index, const char *text, int count) {
  return sqlite3_bind_text(statement, index, text, count, SQLITE_TRANSIENT);
}

// The bytes must stay alive and unchanged until the statement is reset or bound anew.
static inline int csqlite_bind_text_static(sqlite3_stmt *statement, int index, const char *text, int count) {
  return sqlite3_bind_text(statement, index, text, count, SQLITE_STATIC);
}

// Extended result codes are expressions, which Swift does not import (sqlite.org/rescode.html).
static const int CSQLITE_CONSTRAINT_FOREIGNKEY = SQLITE_CONSTRAINT_FOREIGNKEY;
static const int CSQLITE_CONSTRAINT_PRIMARYKEY = SQLITE_CONSTRAINT_PRIMARYKEY;
static const int CSQLITE_CONSTRAINT_UNIQUE = SQLITE_CONSTRAINT_UNIQUE;

static inline int csqlite_bind_blob_static(sqlite3_stmt *statement, int index, const void *bytes, int count) {
  return sqlite3_bind_blob(statement, index, bytes, count, SQLITE_STATIC);
}

static inline int csqlite_bind_blob_transient(sqlite3_stmt *statement, int index, const void *bytes, int count) {
  return sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}

// sqlite3_db_config is variadic, which Swift cannot call.
static inline int csqlite_db_config(sqlite3 *database, int option, int value) {
  return sqlite3_db_config(database, option, value, (int *)0);
}

// The bytes must stay alive until the row is done. A null pointer would be NULL, not an empty text.
static inline void csqlite_result_text_static(sqlite3_context *context, const unsigned char *text, int count) {
  sqlite3_result_text(context, text ? (const char *)text : "", count, SQLITE_STATIC);
}

static inline void csqlite_result_text_transient(sqlite3_context *context, const unsigned char *text, int count) {
  sqlite3_result_text(context, text ? (const char *)text : "", count, SQLITE_TRANSIENT);
}

static inline void csqlite_result_blob_static(sqlite3_context *context, const void *bytes, int count) {
  sqlite3_result_blob(context, bytes, count, SQLITE_STATIC);
}

// sqlite3_vtab_config is variadic. No trigger or view may read the table.
static inline int csqlite_vtab_direct_only(sqlite3 *database) {
  return sqlite3_vtab_config(database, SQLITE_VTAB_DIRECTONLY);
}
