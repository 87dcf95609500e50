variable "value" {}
resource "terraform_data" "keep" {
  input = { v = var.value, n = 1 }
}
output "kept" {
  value     = terraform_data.keep.output.v
  sensitive = true
}
