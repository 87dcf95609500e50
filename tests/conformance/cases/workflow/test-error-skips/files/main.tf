variable "n" {
  default = 1
}
resource "terraform_data" "a" {
  input = var.n
  lifecycle {
    precondition {
      condition     = var.n < 5
      error_message = "Too big."
    }
  }
}
