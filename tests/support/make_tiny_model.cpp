// Writes a BERT checkpoint with random weights, which needs no download, for tests of the program.
// usage: make_tiny_model FOLDER
#include <filesystem>

#include "support/tiny_checkpoint.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::filesystem::create_directories(argv[1]);
  casemate::test::write_tiny_checkpoint(argv[1], casemate::Architecture::kBert, casemate::Head::kNone, false);
}
