variable "n" { default = 1 }
resource "terraform_data" "a" {
  input = var.n
  lifecycle {
    precondition {
      condition     = var.n < 5
      error_message = "Too big."
    }
  }
}
resource "terraform_data" "b" { input = var.n * 2 }
output "n" {
  value = var.n
  precondition {
    condition     = var.n != 3
    error_message = "Three."
  }
}
