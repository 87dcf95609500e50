
output "root" { value = lab_thing.root.name }
output "m" { value = lab_thing.t[*].name }
output "c" { value = "const" }
