variable "in" {
  validation {
    condition     = var.in != "inner"
    error_message = "Inner."
  }
}
resource "terraform_data" "i" {
  input = var.in
}
output "z" {
  value = var.in == "module" ? file("nope") : "x"
}
