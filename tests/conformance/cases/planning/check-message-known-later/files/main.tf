variable "v" { default = 1 }
resource "terraform_data" "a" {
  input            = var.v
  triggers_replace = var.v
}
check "msg" {
  assert {
    condition     = var.v == 9
    error_message = "m ${terraform_data.a.output}"
  }
}
output "o" {
  value = 1
}
check "both" {
  assert {
    condition     = terraform_data.a.output == 9
    error_message = "b ${terraform_data.a.output}"
  }
  assert {
    condition     = var.v == 9
    error_message = "c ${terraform_data.a.output}"
  }
}
check "alone" {
  assert {
    condition     = var.v == 9
    error_message = "x ${plantimestamp() == "" ? 1 : 2}"
  }
}
