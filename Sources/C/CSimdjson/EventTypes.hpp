// Maps the name of an event type to its code: one look-up and one comparison. One constant table.
#pragma once

#include "CSimdjson.h"

namespace csj {

/// Returns `csj_event_unknown` for a name that is not in the table.
csj_event_type event_type(const uint8_t *name, size_t count) noexcept;

}  // namespace csj
