// Lines that are rewritten, and the many that look alike and are left alone.
#include "report/findings/line_change.h"

#include <gtest/gtest.h>

namespace turnpike::report {
namespace {

using analyze::Finding;
using Kind = analyze::LineEdit::Kind;

Finding finding_of(Kind kind, std::uint32_t workers = 0) {
  Finding finding;
  finding.rule = "a_rule";
  finding.site = "train.py:2";
  finding.edit = {kind, workers};
  return finding;
}

const Finding kPageable = finding_of(Kind::kStageUpload);
const Finding kValue = finding_of(Kind::kReadLater);
const Finding kMade = finding_of(Kind::kMakeOnDevice);
const Finding kConverted = finding_of(Kind::kConvertOnDevice);
const Finding kSync = finding_of(Kind::kRemove);
const Finding kLoader = finding_of(Kind::kLoadInWorkers, 4);

// What the line becomes; "" when it is left alone.
std::string after(const Finding& finding, const std::string& line, const std::string& above = "    x = 1") {
  const auto change = rewritten(finding, line, above);
  return change ? change->after.value_or("(gone)") : "";
}

TEST(LineChange, AnUploadGoesThroughStaging) {
  EXPECT_EQ(after(kPageable, "    x = x.to(device)"), "x = tp.to(x, device)");
  EXPECT_EQ(after(kPageable, "image = image.to(device).float()"), "image = tp.to(image, device).float()");
  EXPECT_EQ(after(kPageable, "x, y = x.to(device), y.to(device)"), "x, y = tp.to(x, device), tp.to(y, device)");
  EXPECT_EQ(after(kPageable, "x = batch[\"x\"].to('cuda:1', non_blocking=True)  # up"),
            "x = tp.to(batch[\"x\"], 'cuda:1', non_blocking=True)  # up");
  EXPECT_EQ(after(kPageable, "x = a.b[0].to(self.device)"), "x = tp.to(a.b[0], self.device)");
}

TEST(LineChange, AnUploadOfAnotherShapeIsLeftAlone) {
  for (const char* line : {"x = load().to(device)",
                           "x = x.to(device, torch.float32)",
                           "x = x.to(y)",
                           "x = x.to(batch.dtype)",
                           "x = x.to(y)[0]",
                           "x.to(device)",
                           "x = x.cuda()",
                           "step(x.to(device))",
                           "x = x.to(device) + y.to(device)",
                           "x = x.to(device); y = 1",
                           "return x.to(device)",
                           "x = x.to(device(0))",
                           "x = [t.to(device) for t in batch]",
                           "x = x.to(",
                           "if a: x = x.to(device)",
                           "x = \"y.to(device)\"",
                           "x = x.to(device) \\",
                           "x += y.to(device)",
                           "x = x.to(device, copy=True)",
                           "x = y = x.to(device)",
                           "",
                           "#x = x.to(device)",
                           "x = a[f(0)].to(device)"}) {
    EXPECT_EQ(after(kPageable, line), "") << line;
  }
  EXPECT_EQ(after(finding_of(Kind::kNone), "x = x.to(device)"), "");
  EXPECT_EQ(after(kPageable, "x = " + std::string(300, 'x') + ".to(device)"), "");
}

TEST(LineChange, ASumStaysOnTheGpu) {
  EXPECT_EQ(after(kValue, "  total += loss.item()"), "total += loss.detach()  # .item() once, after the loop");
  for (const char* line : {"losses.append(loss.item())", "total += loss.item() * n", "total = loss.item()",
                           "total -= loss.item()", "total += loss.mean().item()", "total += loss.item(), 1"}) {
    EXPECT_EQ(after(kValue, line), "") << line;
  }
}

TEST(LineChange, AConstantIsMadeWhereItIsUsed) {
  EXPECT_EQ(after(kMade, "mask = torch.ones(n, n).to(device)"), "mask = torch.ones(n, n, device=device)");
  EXPECT_EQ(after(kMade, "z = torch.zeros([4, 4], dtype=torch.half).to(x.device, non_blocking=True)"),
            "z = torch.zeros([4, 4], dtype=torch.half, device=x.device)");
  for (const char* line :
       {"r = torch.randn(n).to(device)", "m = torch.ones(n, n).tril().to(device)", "m = torch.ones(f(n)).to(device)",
        "m = torch.ones(n, device=d).to(device)", "m = torch.ones().to(device)", "m = torch.tensor([1]).to(device)",
        "m = np.ones(n).to(device)", "m = torch.ones(n, n,).to(device)", "m = torch.ones(n).to(x)",
        "m = torch.ones(n).to(device, torch.half)"}) {
    EXPECT_EQ(after(kMade, line), "") << line;
  }
}

TEST(LineChange, ATypeChangesOnTheGpu) {
  EXPECT_EQ(after(kConverted, "x = x.float().to(device)"), "x = x.to(device).float()");
  EXPECT_EQ(after(kConverted, "x = x.to(device, torch.float32)"), "x = x.to(device).to(torch.float32)");
  EXPECT_EQ(after(kConverted, "x = x.to(device, dtype=torch.float64, non_blocking=True)"),
            "x = x.to(device, non_blocking=True).to(torch.float64)");
  for (const char* line : {"x = x[:, ::2].to(device)", "x = x.to(torch.float32)", "x = x.to(device, y)",
                           "x = x.float().contiguous().to(device)", "x = x.t().to(device)", "x = x.half().to(device)",
                           "x = x.to(device, torch.half)", "x = x.float().to(y)"}) {
    EXPECT_EQ(after(kConverted, line), "") << line;
  }
}

TEST(LineChange, ALoaderGetsWorkers) {
  EXPECT_EQ(after(kLoader, "loader = DataLoader(data, batch_size=64, shuffle=True)"),
            "loader = DataLoader(data, batch_size=64, shuffle=True, num_workers=4, pin_memory=True)");
  EXPECT_EQ(after(kLoader, "for x, y in torch.utils.data.DataLoader(data, 64):"),
            "for x, y in torch.utils.data.DataLoader(data, 64, num_workers=4, pin_memory=True):");
  EXPECT_EQ(after(kLoader, "for i, x in enumerate(DataLoader(data, 64)):"),
            "for i, x in enumerate(DataLoader(data, 64, num_workers=4, pin_memory=True)):");
  for (const char* line :
       {"for x in loader:", "loader = DataLoader(data, num_workers=1)", "loader = DataLoader(data, pin_memory=False)",
        "loader = DataLoader(MyData(), 64)", "loader = DataLoader(", "loader = DataLoader(data, **options)",
        "loader = MyDataLoader(data)", "loader = DataLoader()"}) {
    EXPECT_EQ(after(kLoader, line), "") << line;
  }
}

TEST(LineChange, ASynchronisationGoes) {
  EXPECT_EQ(after(kSync, "    torch.cuda.synchronize()", "    loss.backward()"), "(gone)");
  EXPECT_EQ(after(kSync, "torch.cuda.synchronize(device)", "step()"), "(gone)");
  // Not where the block would be empty, or where it may be.
  for (const char* above : {"if timed:", "  for x in y:", "", "    # wait", "        deeper()", "    a = \\"}) {
    EXPECT_EQ(after(kSync, "    torch.cuda.synchronize()", above), "") << above;
  }
  for (const char* line :
       {"    start.synchronize()", "    torch.cuda.synchronize(); x = 1", "    stream.synchronize()"}) {
    EXPECT_EQ(after(kSync, line, "    x = 1"), "") << line;
  }
}

// A report of one upload at the second line of a file, whose source was recorded.
class LineChangeOfReport : public testing::Test {
 protected:
  LineChangeOfReport() {
    report_.source_text.add(source_, "", 1, "def train(x):\n    x = x.to(device)\n");
    analyze::Site site;
    site.site = "train.py:2";
    site.file = source_;
    site.line = 2;
    site.stack = {"train (" + source_ + ":2)", "<module> (" + source_ + ":9)"};
    report_.sites = {site};
    report_.findings = {kPageable};
  }

  bool is_found() const { return line_changes(report_).at(0).has_value(); }

  std::string source_ = "/home/me/train.py";
  analyze::Report report_;
};

TEST_F(LineChangeOfReport, NamesTheFileAndTheLine) {
  const auto change = line_changes(report_).at(0);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->file, source_);
  EXPECT_EQ(change->line, 2u);
  EXPECT_EQ(change->indent, "    ");
  EXPECT_EQ(change->before, "x = x.to(device)");
  EXPECT_EQ(change->after, "x = tp.to(x, device)");
}

// It makes no call that a table of the report has.
TEST_F(LineChangeOfReport, IsOfTheLoopThatMakesItsDataLoader) {
  const std::string loop = "/home/me/loop.py";
  report_.source_text.add(loop, "", 1, "def train(data):\n    for x in DataLoader(data, 64):\n        step(x)\n");
  Finding finding = kLoader;
  finding.site = "loop.py:2";
  report_.findings = {finding};
  EXPECT_FALSE(is_found()) << "the file is not known";
  report_.findings[0].file = loop;
  report_.findings[0].line = 2;
  const auto change = line_changes(report_).at(0);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->file, loop);
  EXPECT_EQ(change->after, "for x in DataLoader(data, 64, num_workers=4, pin_memory=True):");
  report_.findings[0].line = 3;
  EXPECT_FALSE(is_found()) << "the loop of a DataLoader that was made elsewhere";
}

TEST_F(LineChangeOfReport, IsNotWithoutTheLineAndTheOneAbove) {
  report_.source_text = {};
  EXPECT_FALSE(is_found());
  report_.source_text.add(source_, "", 2, "    x = x.to(device)\n");
  EXPECT_FALSE(is_found());
}

TEST_F(LineChangeOfReport, IsNotOfACallThatALibraryMakes) {
  report_.sites[0].stack.insert(report_.sites[0].stack.begin(), "Module.to (/lib/torch/nn/module.py:7)");
  EXPECT_FALSE(is_found());
  report_.sites[0].stack.clear();
  EXPECT_FALSE(is_found());
}

TEST_F(LineChangeOfReport, IsNotOfALineThatTwoFilesMayHave) {
  report_.sites.push_back(report_.sites[0]);
  EXPECT_TRUE(is_found()) << "two kinds of transfer at one line";
  report_.sites[1].file = "/home/other/train.py";
  report_.sites[1].stack = {"train (" + *report_.sites[1].file + ":2)"};
  EXPECT_FALSE(is_found());
}

TEST_F(LineChangeOfReport, IsNotOfAFindingWithoutALineOfItsOwn) {
  report_.findings[0].library_site = "lib: a.py:3";
  EXPECT_FALSE(is_found());
  report_.findings[0].library_site.reset();
  report_.findings[0].site = "";
  EXPECT_FALSE(is_found());
}

}  // namespace
}  // namespace turnpike::report
