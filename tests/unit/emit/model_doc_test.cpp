#include <nki/emit/model_doc.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace {

TEST(ModelPage, IsWhatTheSourcesSay) {
  const std::string path = std::string(NKI_TESTS_DIR) + "/../docs/model.md", text = nki::emit::model_markdown();
  if (std::getenv("NKI_ACCEPT") != nullptr) std::ofstream(path) << text;
  std::ifstream in(path);
  std::stringstream page;
  page << in.rdbuf();
  EXPECT_EQ(page.str(), text) << "docs/model.md is generated: NKI_ACCEPT=1 ctest -R Model";
}

TEST(ModelPage, GivesEveryConstantItsSource) {
  nki::machine::for_each_constant(nki::machine::trn2_params, [](const char* name, const nki::Figure& f) {
    EXPECT_STRNE(f.unit, "") << name;
    EXPECT_STRNE(f.source, "") << name;
  });
}

}  // namespace
