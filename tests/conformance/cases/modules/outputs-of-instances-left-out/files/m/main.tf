variable "v" {}
resource "terraform_data" "t" { input = var.v }
output "raw" { value = terraform_data.t.output }
output "up" { value = upper(terraform_data.t.output) }
