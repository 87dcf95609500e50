removed {
  from = terraform_data.zz
}
moved {
  from = terraform_data.a
}
import {
  to = terraform_data.t
}
check "c" {
  assert {
    condition     = true
    error_message = "x"
  }
}
