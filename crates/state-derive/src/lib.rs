//! Derives `weft_state::State`: fields are written one after the other in the order of their declaration, an enum with the
//! number of its variant in front.
//!
//! A field may have an attribute: `#[state(key)]` is a key that protects the fabric, `#[state(datagram)]` a datagram that may
//! contain one, both written masked; `#[state(skip)]` is not written, and read as its type's default.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Field, Fields, Ident, parse_macro_input, parse_quote};

/// Derives `weft_state::State`.
#[proc_macro_derive(State, attributes(state))]
pub fn derive_state(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let made = implementation(input);
    made.unwrap_or_else(|error| error.to_compile_error()).into()
}

fn implementation(mut input: DeriveInput) -> Result<TokenStream, Error> {
    for parameter in input.generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(::weft_state::State));
        // Shared values are told apart by their types, which borrow nothing.
        parameter.bounds.push(parse_quote!('static));
    }
    let (write, read) = match &input.data {
        Data::Struct(data) => of_struct(&data.fields)?,
        Data::Enum(data) => {
            let mut arms = (Vec::new(), Vec::new());
            for (number, variant) in data.variants.iter().enumerate() {
                let number = u8::try_from(number);
                let number =
                    number.map_err(|_| Error::new_spanned(variant, "more than 256 variants"))?;
                let name = &variant.ident;
                let (pattern, writes, make) = parts(&variant.fields)?;
                arms.0.push(quote!(Self::#name #pattern => {
                    ::weft_state::State::write(&#number, to);
                    #writes
                }));
                arms.1.push(quote!(#number => Self::#name #make));
            }
            let (writes, reads) = arms;
            let write = quote!(match self { #(#writes)* });
            let read = quote!(match <u8 as ::weft_state::State>::read(from)? {
                #(#reads,)*
                other => return Err(from.unknown(other)),
            });
            (write, read)
        }
        Data::Union(_) => return Err(Error::new_spanned(&input.ident, "a union has no state")),
    };
    let name = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #generics ::weft_state::State for #name #arguments #bounds {
            fn write(&self, to: &mut ::weft_state::Writer<'_>) {
                #write
            }

            fn read(from: &mut ::weft_state::Reader<'_>) -> Result<Self, ::weft_state::StateError> {
                Ok(#read)
            }
        }
    })
}

fn of_struct(fields: &Fields) -> Result<(TokenStream, TokenStream), Error> {
    let (pattern, writes, make) = parts(fields)?;
    let write = quote! {
        let Self #pattern = self;
        #writes
    };
    Ok((write, quote!(Self #make)))
}

/// The pattern that takes fields apart, what writes them, and what makes them of what is read.
fn parts(fields: &Fields) -> Result<(TokenStream, TokenStream, TokenStream), Error> {
    let (mut names, mut writes, mut reads) = (Vec::new(), Vec::new(), Vec::new());
    for (number, field) in fields.iter().enumerate() {
        let name = format_ident!("field_{number}");
        let (write, read) = of_field(field, &name)?;
        writes.push(write);
        reads.push(read);
        names.push(name);
    }
    let labels: Vec<&Ident> = fields
        .iter()
        .filter_map(|field| field.ident.as_ref())
        .collect();
    let (pattern, make) = match fields {
        Fields::Named(_) => (
            quote!({ #(#labels: #names),* }),
            quote!({ #(#labels: #reads),* }),
        ),
        Fields::Unnamed(_) => (quote!((#(#names),*)), quote!((#(#reads),*))),
        Fields::Unit => (quote!(), quote!()),
    };
    Ok((pattern, quote!(#(#writes)*), make))
}

fn of_field(field: &Field, name: &Ident) -> Result<(TokenStream, TokenStream), Error> {
    let mut kind = None;
    for attribute in &field.attrs {
        if attribute.path().is_ident("state") {
            kind = Some(attribute.parse_args::<Ident>()?);
        }
    }
    let ty = &field.ty;
    let read = quote!(<#ty as ::weft_state::State>::read(from)?);
    let Some(kind) = kind else {
        return Ok((quote!(::weft_state::State::write(#name, to);), read));
    };
    match kind.to_string().as_str() {
        "key" => Ok((quote!(::weft_state::Key::write_masked(#name, to);), read)),
        "datagram" => Ok((quote!(to.datagram(#name);), read)),
        "skip" => Ok((
            quote!(let _ = #name;),
            quote!(<#ty as ::std::default::Default>::default()),
        )),
        _ => Err(Error::new_spanned(
            kind,
            "allowed are key, datagram and skip",
        )),
    }
}
