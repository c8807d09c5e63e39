// See gpu_kind.h.
#include "base/gpu_kind.h"

namespace berth {

std::string gpu_kind(std::string_view product) {
  std::string kind;
  while (!product.empty()) {
    const std::size_t end = product.find(' ');
    const std::string_view word = product.substr(0, end);
    product.remove_prefix(end == std::string_view::npos ? product.size() : end + 1);
    if (word.empty() || word == "NVIDIA" || word == "Tesla" || word == "Quadro" ||
        word == "GeForce") {
      continue;
    }
    if (word == "RTX" || word == "GTX" || word == "TITAN") {
      kind = std::string(word) + "-";
      continue;
    }
    return kind + std::string(word.substr(0, word.find('-')));
  }
  return kind.empty() ? "GPU" : kind.substr(0, kind.size() - 1);
}

}  // namespace berth
