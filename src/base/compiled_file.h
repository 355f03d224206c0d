// Files of Python that torch.compile generated: nobody wrote them, and a line in them says nothing to a person.
#pragma once

#include <string_view>

namespace turnpike {

// The code of a graph, which stands in no file ("<eval_with_key>.3", "fx_generated_0ff3....py"), and modules that
// Inductor wrote: it names each by its content, in a folder named by two letters of that
// ("/tmp/torchinductor_me/qw/cqwza3ck....py").
bool is_compiled_file(std::string_view file);

}  // namespace turnpike
