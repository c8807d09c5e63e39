// The orders of service that a configuration can name.
#pragma once

#include "core/model/specs.h"
#include "core/state/order_rule.h"

namespace berth::core {

// The rule for an order; lives for ever.
const OrderRule& rule_for(Order order);

}  // namespace berth::core
