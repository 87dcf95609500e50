variable "value" {
}
locals {
  joined = join(",", var.value)
}
resource "terraform_data" "inner" {
  input = local.joined
}
output "text" {
  value = upper(replace(terraform_data.inner.output, "/[0-9a-f-]{36}/", "id"))
}
