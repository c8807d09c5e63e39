// See published.h.
#include "exp/published.h"

namespace berth::exp {
namespace {

constexpr PublishedPacking kPacking[] = {
    {"cpu050", "Random", 91.243, 89.022},
    {"cpu050", "DotProd", 93.267, 93.034},
    {"cpu050", "GpuClustering", 93.787, 93.521},
    {"cpu050", "GpuPacking", 93.717, 93.462},
    {"cpu050", "BestFit", 93.794, 93.56},
    {"cpu050", "FGD", 95.206, 94.996},
    {"cpu100", "Random", 89.113, 87.435},
    {"cpu100", "DotProd", 91.955, 91.731},
    {"cpu100", "GpuClustering", 92.643, 92.415},
    {"cpu100", "GpuPacking", 92.715, 92.495},
    {"cpu100", "BestFit", 93.443, 93.263},
    {"cpu100", "FGD", 95.354, 95.208},
    {"default", "Random", 87.47, 86.303},
    {"default", "DotProd", 90.849, 90.622},
    {"default", "GpuClustering", 91.878, 91.65},
    {"default", "GpuPacking", 92.002, 91.779},
    {"default", "BestFit", 93.076, 92.862},
    {"default", "FGD", 95.391, 95.227},
    {"gpushare40", "Random", 86.002, 84.864},
    {"gpushare40", "DotProd", 89.559, 89.304},
    {"gpushare40", "GpuClustering", 90.015, 89.757},
    {"gpushare40", "GpuPacking", 90.03, 89.774},
    {"gpushare40", "BestFit", 91.689, 91.443},
    {"gpushare40", "FGD", 94.148, 93.961},
    {"gpushare60", "Random", 83.653, 82.808},
    {"gpushare60", "DotProd", 87.115, 86.816},
    {"gpushare60", "GpuClustering", 87.203, 86.901},
    {"gpushare60", "GpuPacking", 87.447, 87.147},
    {"gpushare60", "BestFit", 89.359, 89.06},
    {"gpushare60", "FGD", 91.401, 91.255},
    {"gpuspec10", "Random", 87.428, 86.257},
    {"gpuspec10", "DotProd", 90.39, 90.174},
    {"gpuspec10", "GpuClustering", 92.177, 91.956},
    {"gpuspec10", "GpuPacking", 92.459, 92.237},
    {"gpuspec10", "BestFit", 93.305, 93.099},
    {"gpuspec10", "FGD", 94.949, 94.663},
    {"gpuspec20", "Random", 87.24, 85.902},
    {"gpuspec20", "DotProd", 89.967, 88.292},
    {"gpuspec20", "GpuClustering", 92.245, 89.11},
    {"gpuspec20", "GpuPacking", 92.936, 89.283},
    {"gpuspec20", "BestFit", 93.297, 88.463},
    {"gpuspec20", "FGD", 94.837, 94.662},
    {"multigpu20", "Random", 88.691, 86.919},
    {"multigpu20", "DotProd", 92.062, 91.847},
    {"multigpu20", "GpuClustering", 93.557, 93.343},
    {"multigpu20", "GpuPacking", 93.71, 93.5},
    {"multigpu20", "BestFit", 93.933, 93.734},
    {"multigpu20", "FGD", 95.651, 95.528},
    {"multigpu30", "Random", 89.266, 86.631},
    {"multigpu30", "DotProd", 93.281, 93.106},
    {"multigpu30", "GpuClustering", 94.722, 94.552},
    {"multigpu30", "GpuPacking", 94.873, 94.703},
    {"multigpu30", "BestFit", 94.719, 94.566},
    {"multigpu30", "FGD", 96.456, 96.357},
    {"cpu250", "Random", 80.42},
    {"cpu250", "DotProd", 83.81},
    {"cpu250", "GpuClustering", 87.99},
    {"cpu250", "GpuPacking", 88.28},
    {"cpu250", "BestFit", 91.45},
    {"cpu250", "FGD", 93.41},
    {"gpushare100", "Random", 79.44},
    {"gpushare100", "DotProd", 82.42},
    {"gpushare100", "GpuClustering", 82.65},
    {"gpushare100", "GpuPacking", 82.57},
    {"gpushare100", "BestFit", 85.01},
    {"gpushare100", "FGD", 86.9},
    {"multigpu50", "Random", 90.27},
    {"multigpu50", "DotProd", 94.85},
    {"multigpu50", "GpuClustering", 95.81},
    {"multigpu50", "GpuPacking", 96.18},
    {"multigpu50", "BestFit", 95.74},
    {"multigpu50", "FGD", 97.18},
    {"gpuspec33", "Random", 86.46, 83.87},
    {"gpuspec33", "DotProd", 89.14, 79.82},
    {"gpuspec33", "GpuClustering", 92.12, 81.09},
    {"gpuspec33", "GpuPacking", 93.22, 82.22},
    {"gpuspec33", "BestFit", 93.09, 80.39},
    {"gpuspec33", "FGD", 94.55, 87.84},
};

constexpr PublishedBackfill kBackfill[] = {
    {"lublin_256", "FCFS", 235.82},   {"lublin_256", "WFP3", 133.87},
    {"lublin_256", "UNICEP", 307.23}, {"lublin_256", "SJF", 73.31},
    {"lublin_256", "F1", 75.07},      {"lublin_256", "RL", 58.64},
};

}  // namespace

std::vector<PublishedPacking> published_packing(std::string_view workload) {
  std::vector<PublishedPacking> rows;
  for (const PublishedPacking& row : kPacking) {
    if (row.workload == workload) rows.push_back(row);
  }
  return rows;
}

std::vector<PublishedBackfill> published_backfill(std::string_view trace) {
  std::vector<PublishedBackfill> rows;
  for (const PublishedBackfill& row : kBackfill) {
    if (row.trace == trace) rows.push_back(row);
  }
  return rows;
}

}  // namespace berth::exp
