#include "casemate/defend/calibration.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace casemate {
namespace {

using Json = nlohmann::ordered_json;
constexpr char kSetting[] = "calibrations";

}  // namespace

Result<std::vector<Calibration>> read_calibrations(const Store& store, std::string_view tenant) {
  const auto setting = store.setting(tenant, kSetting);
  if (!setting) return setting.error();
  std::vector<Calibration> out;
  if (!*setting) return out;
  const Json list = Json::parse(**setting, nullptr, false);
  const auto damaged = [&] { return Error{ErrorCode::kCorrupt, store.path() + ": the calibrations are damaged"}; };
  if (!list.is_array()) return damaged();
  for (const Json& entry : list) {
    if (!entry.is_object() || !entry.contains("defence") || !entry["defence"].is_string() ||
        !entry.contains("setting") || !entry["setting"].is_string() || !entry.contains("value") ||
        !entry["value"].is_number() || !entry.contains("details")) {
      return damaged();
    }
    out.push_back({entry["defence"].get<std::string>(), entry["setting"].get<std::string>(),
                   entry["value"].get<double>(), entry["details"].dump()});
  }
  return out;
}

Status write_calibration(Store& store, std::string_view tenant, const Calibration& calibration) {
  auto all = read_calibrations(store, tenant);
  if (!all && all.error().code != ErrorCode::kCorrupt) return all.error();
  std::vector<Calibration> list = all ? *std::move(all) : std::vector<Calibration>();  // a damaged list is replaced
  std::erase_if(list, [&](const Calibration& each) {
    return each.defence == calibration.defence && each.setting == calibration.setting;
  });
  list.push_back(calibration);
  Json json = Json::array();
  for (const Calibration& each : list) {
    Json details = Json::parse(each.details_json, nullptr, false);
    if (details.is_discarded()) return Error{ErrorCode::kInvalidArgument, "calibration details are not JSON"};
    json.push_back(
        {{"defence", each.defence}, {"setting", each.setting}, {"value", each.value}, {"details", std::move(details)}});
  }
  return store.set_setting(tenant, kSetting, json.dump());
}

Result<double> calibrated_value(const Store* store, std::string_view tenant, std::string_view defence,
                                std::string_view setting) {
  const std::string missing = std::string(defence) + " has no calibration for " + std::string(setting) +
                              " here: run casemate calibrate STORE --defence " + std::string(defence) +
                              ", or give the threshold";
  if (store == nullptr) return Error{ErrorCode::kInvalidArgument, missing};
  const auto all = read_calibrations(*store, tenant);
  if (!all) return all.error();
  for (const Calibration& each : *all) {
    if (each.defence == defence && each.setting == setting) return each.value;
  }
  return Error{ErrorCode::kInvalidArgument, missing};
}

}  // namespace casemate
