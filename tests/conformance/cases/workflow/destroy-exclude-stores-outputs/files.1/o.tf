output "n" { value = lab_thing.b.name }
output "m" { value = lab_thing.a.name }
output "k" { value = 3 }
