variable "v" {
  default = 1
}

resource "terraform_data" "a" {
  input = var.v

  lifecycle {
    precondition {
      condition     = var.v < 5
      error_message = "too big"
    }
  }
}

check "one" {
  assert {
    condition     = var.v == 1
    error_message = "v is ${var.v}"
  }

  assert {
    condition     = terraform_data.a.id != ""
    error_message = "no id"
  }
}

check "two" {
  assert {
    condition     = var.v == 1
    error_message = "v is ${var.v}"
  }
}
