resource "terraform_data" "z" { input = "q" }
output "o0" { value = { for v in [1] : (terraform_data.z.id == "" ? { a = 1 } : { a = 2 }) => v } }
output "o1" { value = [for v in [1] : v if(terraform_data.z.id == "" ? [1] : [2])] }
output "o2" { value = { for v in [1] : terraform_data.z.output => v } }
output "o3" { value = { (terraform_data.z.id == "" ? [1] : [2]) = 1 } }
output "o4" { value = { for v in [1] : (terraform_data.z.id == "" ? true : false) => v } }
output "o5" { value = { for v in [1] : (terraform_data.z.id == "" ? 5 : null) => v } }
output "o6" { value = merge({ for v in [1] : (terraform_data.z.id == "" ? { a = 1 } : { a = 2 }) => v }, {}) }
