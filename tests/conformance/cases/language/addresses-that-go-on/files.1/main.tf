removed {
  from = module.m.module
}
import {
  to = module["x"]
  id = "1"
}
