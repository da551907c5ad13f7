"""The world that an agent learns in: rules, pools, oracle matrix, belief, environments."""

import gymnasium

gymnasium.register(id="Cabinet-v0", entry_point="env.cabinet:CabinetEnv")
