#pragma once
// Foundation brings an ICU of its own, and the compiler takes no second one beside it.
#include <libxml/xmlversion.h>
#undef LIBXML_ICU_ENABLED
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/tree.h>

// xmlFree is a variable, which Swift does not let several threads read.
static inline void cxml_free(void *memory) { xmlFree(memory); }
