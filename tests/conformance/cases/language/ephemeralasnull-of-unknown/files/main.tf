variable "e" {
  type      = string
  ephemeral = true
}
resource "terraform_data" "a" { input = "q" }
output "late" { value = ephemeralasnull("${var.e}-${terraform_data.a.output}") }
output "parts" { value = ephemeralasnull({ a = var.e, b = terraform_data.a.output }) }
