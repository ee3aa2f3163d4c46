// What this header declares, NVRTC has without it.
