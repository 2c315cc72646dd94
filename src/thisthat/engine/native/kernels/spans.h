/* Inputs of a token that share a step: few enough that a large one coarsens no more than these. */

#pragma once

#include "rows.h"

static int spans_of(const Rows *rows) { return rows->inputs / rows->matrix->span; }
