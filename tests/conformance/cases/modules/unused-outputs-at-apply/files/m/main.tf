
resource "terraform_data" "x" { input = "abc" }
output "num" { value = tonumber(terraform_data.x.output) }
output "ok" { value = terraform_data.x.output }
output "unused" { value = tonumber("${terraform_data.x.output}1") }
