variable "n" {
  default = 1
  validation {
    condition     = var.n < 10
    error_message = "Ten or more."
  }
}
resource "terraform_data" "a" {
  input = var.n
  lifecycle {
    precondition {
      condition     = var.n != 5
      error_message = "Five."
    }
  }
}
output "o" {
  value = terraform_data.a.output
  precondition {
    condition     = terraform_data.a.output != 6
    error_message = "Six."
  }
}
check "c" {
  assert {
    condition     = terraform_data.a.output != 7
    error_message = "Seven."
  }
}
module "m" {
  source = "./m"
  n      = var.n
}
