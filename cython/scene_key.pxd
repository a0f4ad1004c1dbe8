# SPDX-License-Identifier: MIT
# Contract of the scene-key module.
cpdef str normalize_scene_key(str key)  # "" where nothing is left
