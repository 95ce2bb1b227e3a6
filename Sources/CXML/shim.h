#pragma once
// With ICU libxml2's headers bring ICU's own, which a program that imports Foundation knows by another version. It only
// adds fields to a struct that is never looked into.
#include <libxml/xmlversion.h>
#undef LIBXML_ICU_ENABLED
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/tree.h>

// xmlFree is a variable, which Swift does not let several threads read.
static inline void cxml_free(void *memory) { xmlFree(memory); }
