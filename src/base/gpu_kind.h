// The kind of a GPU, from the name that its maker gives the product.
#pragma once

#include <string>
#include <string_view>

namespace berth {

// "NVIDIA A100-SXM4-40GB" -> "A100", "NVIDIA GeForce RTX 4090" -> "RTX-4090"; "GPU" if it says
// nothing.
std::string gpu_kind(std::string_view product);

}  // namespace berth
