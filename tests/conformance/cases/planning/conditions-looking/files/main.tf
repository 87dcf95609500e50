variable "want" {
  default = "a"
}

resource "terraform_data" "a" {
  input = "a"

  lifecycle {
    precondition {
      condition     = var.want == "a"
      error_message = "Before."
    }
    postcondition {
      condition     = self.input == var.want
      error_message = "After."
    }
  }
}

output "o" {
  value = terraform_data.a.input
}

check "c" {
  assert {
    condition     = var.want == "a"
    error_message = "Check."
  }
}
