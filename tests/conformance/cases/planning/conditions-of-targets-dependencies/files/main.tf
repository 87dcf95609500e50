
resource "terraform_data" "a" {
  input = "a"
  lifecycle {
    precondition {
      condition     = terraform.workspace != ""
      error_message = "no"
    }
  }
}

variable "b" {
  default = 1
}

resource "terraform_data" "unchanged" {
  input      = var.b
  depends_on = [terraform_data.a]
}

resource "terraform_data" "none" {
  count = terraform_data.a.input == "a" ? 0 : 1
  lifecycle {
    precondition {
      condition     = terraform_data.a.output != ""
      error_message = "no"
    }
  }
}
