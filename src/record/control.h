// The socket at which a dormant process waits for `turnpike attach`.
#pragma once

#include <string>

namespace turnpike::record {

// Waits on a thread of its own, which sleeps until somebody comes; until then nothing is enabled and no file is
// written. Nothing happens where it waits already. False: `error` says why nobody can attach.
bool wait_for_attach(std::string& error);

}  // namespace turnpike::record
