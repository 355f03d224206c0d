// Names of files that torch.compile generates.
#include "base/compiled_file.h"

#include <gtest/gtest.h>

#include <string>

namespace turnpike {
namespace {

TEST(CompiledFile, IsTheCodeOfAGraph) {
  EXPECT_TRUE(is_compiled_file("<eval_with_key>.12"));
  EXPECT_TRUE(is_compiled_file("fx_generated_0123456789abcdef.py"));
  EXPECT_FALSE(is_compiled_file("<string>"));
  EXPECT_FALSE(is_compiled_file("/home/me/fx_generated_0123456789abcdef.py"));
  EXPECT_FALSE(is_compiled_file(""));
}

TEST(CompiledFile, IsWhatInductorWroteInAnyFolder) {
  const std::string name = "cqwza3ckhfkuerketntxqntcs5vn2hj4ijj27tlhlk6lk4fnkyll";
  EXPECT_TRUE(is_compiled_file("/tmp/torchinductor_me/qw/" + name + ".py"));
  EXPECT_TRUE(is_compiled_file("/cache/qw/" + name + ".py"));
  EXPECT_TRUE(is_compiled_file("/qw/" + name + ".py"));
  EXPECT_FALSE(is_compiled_file("qw/" + name + ".py"));
  EXPECT_FALSE(is_compiled_file("/cache/wq/" + name + ".py")) << "not the letters of its name";
  EXPECT_FALSE(is_compiled_file("/cache/aqw/" + name + ".py"));
  EXPECT_FALSE(is_compiled_file("/cache/qw/" + name.substr(0, 51) + ".py"));
  EXPECT_FALSE(is_compiled_file("/cache/qw/" + name + "a.py"));
  EXPECT_FALSE(is_compiled_file("/cache/qw/" + name.substr(0, 51) + "1.py")) << "no letter of base 32";
  EXPECT_FALSE(is_compiled_file("/cache/qw/d" + name.substr(1) + ".py"));
  EXPECT_FALSE(is_compiled_file("/cache/qw/" + name + ".so"));
  EXPECT_FALSE(is_compiled_file("/cqw.py"));
}

}  // namespace
}  // namespace turnpike
