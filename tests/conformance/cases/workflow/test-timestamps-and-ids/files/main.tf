resource "terraform_data" "t" { input = timestamp() }
output "t" { value = terraform_data.t.output }
output "p" { value = plantimestamp() }
