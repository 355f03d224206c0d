// What becomes of long names in JSON.
#pragma once

namespace turnpike::report {

// kShown: as shown(), for pages. Other programs want all of them.
enum class Names { kWhole, kShown };

}  // namespace turnpike::report
