#pragma once
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/tree.h>

// xmlFree is a variable, which Swift does not let several threads read.
static inline void cxml_free(void *memory) { xmlFree(memory); }
